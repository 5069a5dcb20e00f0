import { join } from "node:path";
import { fillPageFile } from "./docs/page.ts";
import { scaleTables } from "./scale/tables.ts";

fillPageFile(join(import.meta.dirname, "../docs/scale.md"), scaleTables());
console.log("the tables of docs/scale.md are written");
