// Makes .dev.vars unless it exists: a plain `wrangler dev` reads the secrets of the Worker there. Wrangler runs this before each build
// (wrangler.toml). A deployment has its own secrets, and Wrangler does not upload this file. Plain JavaScript: Wrangler may start any Node.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FILE = fileURLToPath(new URL("../.dev.vars", import.meta.url));

function makeDevVars() {
  const lines = [
    "# Made by scripts/dev-vars.js for `wrangler dev` on this machine. Without this key the data in .wrangler/state can't be opened.",
    `GROVE_SEAL_KEY='1:${randomBytes(32).toString("base64")}'`,
    "# All objects run on one thread here: clean-ups leave it to requests.",
    "ONE_THREAD='true'",
    "",
  ];
  // Only this user can read it. An existing file stays as it is.
  writeFileSync(FILE, lines.join("\n"), { flag: "wx", mode: 0o600 });
}

/** @param {unknown} error */
const isThere = (error) => error instanceof Error && "code" in error && error.code === "EEXIST";

if (process.env.WRANGLER_COMMAND === "dev") {
  try {
    makeDevVars();
  } catch (error) {
    if (!isThere(error)) throw error;
  }
}
