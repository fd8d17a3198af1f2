// What eslint asks of the client: everything that typescript-eslint knows with types.

import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["out/**", "**/out/**"] },
  ...tseslint.configs.strictTypeChecked.map((config) => ({ ...config, files: ["**/*.ts"] })),
  {
    files: ["**/*.ts"],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Tests of node:test run by themselves.
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "after"] }] },
      ],
      eqeqeq: "error",
    },
  },
);
