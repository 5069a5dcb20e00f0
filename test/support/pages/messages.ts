import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PROJECT = join(import.meta.dirname, "../../..");
const STRING = /"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
const COMMENT = /^\s*(?:\*|\/\/|\/\*)/;
/** What a template puts in, which may hold a template itself. */
const INSERTED = /\$\{[^}]*(?:\{[^}]*\}[^}]*)*\}/g;

/** Messages that clients read from one origin, by endpoint. `…` stands for what is put in. */
interface MessagesOfSource {
  readonly source: string;
  readonly messages: Readonly<Record<string, readonly string[]>>;
}

const SOURCES: readonly MessagesOfSource[] = JSON.parse(
  readFileSync(join(PROJECT, "test/conformance/messages.json"), "utf8"),
);

/** The section of docs/conformance.md on messages. */
export function messagesSection(): string {
  const entries = SOURCES.map(({ source, messages }) => `- ${Object.values(messages).flat().length} of ${source}`);
  return `## Messages kept word for word

Clients compare them. \`test/conformance/messages.json\` lists them by endpoint; a test fails when \`src/\` lacks one.

${entries.join("\n")}
`;
}

/** Messages of the list that no source has: one of the two was changed. */
export function lostMessages(): string[] {
  const written = new Set(
    globSync("src/**/*.ts", { cwd: PROJECT }).flatMap((file) => stringsOf(readFileSync(join(PROJECT, file), "utf8"))),
  );
  return SOURCES.flatMap(({ messages }) => Object.values(messages).flat()).filter((text) => !written.has(text));
}

function stringsOf(source: string): string[] {
  const lines = source.split("\n").filter((line) => !COMMENT.test(line));
  const strings = lines.flatMap((line) =>
    [...line.matchAll(STRING)].map(([, plain, template]) => plain ?? template ?? ""),
  );
  return strings.map((text) => text.replaceAll('\\"', '"').replace(INSERTED, "…"));
}
