// The walkthrough: each step has its page, and the first opens the tour, whose first lesson has a finding.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.command("Welcome: Open Walkthrough");
  await workbench.answer("MeshLens", "MeshLens");
  const steps = page.locator(".gettingStartedContainer .getting-started-step");
  await steps.first().waitFor();
  const titles = await steps.locator(".step-title").allInnerTexts();
  const body = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame").locator("body");
  let before = "";
  for (const title of titles) {
    await steps.filter({ hasText: title }).first().click();
    // Where there is little room the page is there and not shown.
    const other = async () => {
      const text = await body.innerText({ timeout: 500 }).catch(() => "");
      return text.trim() !== "" && text !== before;
    };
    await workbench.until(other, () => `"${title}" has no page of its own`);
    before = await body.innerText();
    const clipped = body.locator("pre").evaluateAll((all) => all.some((pre) => pre.scrollWidth > pre.clientWidth + 1));
    await workbench.shot(`walkthrough-${titles.indexOf(title) + 1}`);
    check(!(await clipped), `the code of "${title}" is wider than its page`);
  }
  await workbench.shot("walkthrough");
  check((await workbench.toasts().count()) === 0, (await workbench.toasts().allInnerTexts()).join("\n"));
  await steps.first().click();
  await page.locator(".getting-started-step .button-link, .getting-started-step .monaco-button").first().click();
  await page.locator(".tab", { hasText: "train.py" }).waitFor();
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  await workbench.shot("tour");
  return { titles };
});
