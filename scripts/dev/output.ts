/** What a line of `wrangler dev` is to the user. */
export type OutputLine =
  | { readonly kind: "ready"; readonly port: number }
  /** One JSON object of the audit log. */
  | { readonly kind: "audit" }
  /** Said by Wrangler at every start and every request: of no use here. */
  | { readonly kind: "chatter" }
  /** Errors, and what the Worker itself prints. */
  | { readonly kind: "message" };

const READY = /^\[wrangler:info\] Ready on http:\/\/127\.0\.0\.1:(\d+)/;
const CHATTER = [
  /^\s*$/,
  /^\[wrangler:info\] /,
  /^Using secrets defined in /,
  /^Your Worker has access to the following bindings:/,
  /^Binding +Resource/,
  /^env\.\w+ /,
  /^⎔ Starting local server/,
];

/** Sorts a line of output; colours are expected to be off. */
export function sortLine(line: string): OutputLine {
  const port = READY.exec(line)?.[1];
  if (port !== undefined) return { kind: "ready", port: Number(port) };
  if (line.startsWith('{"type":"request"')) return { kind: "audit" };
  return { kind: CHATTER.some((pattern) => pattern.test(line)) ? "chatter" : "message" };
}
