import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { conformancePage, openLines } from "./docs/conformance.ts";

writeFileSync(join(import.meta.dirname, "../docs/conformance.md"), conformancePage());
const open = openLines();
console.log(
  open.length === 0
    ? "docs/conformance.md is written"
    : `docs/conformance.md is written; no test for: ${open.join(", ")}`,
);
