// In this order: what changes globals comes after the isolate was made as new.
import "./new-isolate.ts";
import "./entry-once.ts";
import "./kept-lines.ts";
import "./short-waits.ts";
