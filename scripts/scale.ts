import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scalePage } from "./scale/document.ts";
import { playHistories } from "./scale/histories/play.ts";

const DOCS = join(import.meta.dirname, "..", "docs");
/** Histories of a page, and the seed of the first. */
const HISTORIES = 500;
const SEED = 20_260_801;

const seed = Number(process.env.SEED ?? SEED);
if (!Number.isSafeInteger(seed)) throw new Error("SEED is a whole number");
console.log(`SEED=${seed}`);
const { text, charts } = scalePage(await playHistories(seed, HISTORIES));
mkdirSync(join(DOCS, "images"), { recursive: true });
for (const { name, svg } of charts) writeFileSync(join(DOCS, "images", `${name}.svg`), svg);
writeFileSync(join(DOCS, "scale.md"), text);
console.log("docs/scale.md is written");
