// Without a Python there is one sentence, with a button, and no second one.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("sync.py", 8);
  const toast = workbench.toasts().filter({ hasText: /needs (Python )?3\.10 or newer/ });
  await toast.waitFor({ timeout: 60_000 });
  check((await toast.locator(".monaco-button").count()) > 0, "there is no button");
  await page.waitForTimeout(3000);
  check((await workbench.toasts().count()) === 1, (await workbench.toasts().allInnerTexts()).join("\n"));
  await workbench.shot("no-python");
  return { said: await toast.innerText() };
});
