import { stripVTControlCharacters } from "node:util";
import { isNoise } from "../local/child.ts";

/** The kinds of lines that `wrangler dev` writes. */
export type OutputLine =
  | { readonly kind: "ready"; readonly port: number }
  /** One JSON object of the log, of any type. */
  | { readonly kind: "audit" }
  /** Lines of Wrangler at every start and request; dropped. */
  | { readonly kind: "chatter" }
  /** The build failed; the next lines say why. */
  | { readonly kind: "broken" }
  /** A new build serves requests. */
  | { readonly kind: "updated" }
  /** Errors, and output of the Worker itself. */
  | { readonly kind: "message" };

const LOG_LINE = /^\{"type":"[a-z ]+"/;
const EXCEPTION = '{"type":"exception"';
const READY = /^\[wrangler:info\] Ready on http:\/\/127\.0\.0\.1:(\d+)/;
const CHATTER = [
  /^\s*$/,
  /^\[wrangler:info\] /,
  /^\[custom build\] Running: /,
  /^The file \S+ changed, restarting build\.\.\.$/,
  /^Using secrets defined in /,
  /^Your Worker has access to the following bindings:/,
  /^Binding +Resource/,
  /^env\.\w+ /,
  /^⎔ (Starting local server|Reloading local server)/,
  /^Cloudflare collects anonymous telemetry/,
  // `npm run dev` triggers it (scripts/local/cron.ts).
  /Scheduled Workers are not automatically triggered during local development/,
  /^\s+To manually trigger a scheduled event, run:/,
  /^\s+curl "http:\/\/[^"]*\/scheduled"/,
  /^\s+For more details, see \S*cron-triggers/,
];

/** True for a line of the Worker's log (requests, sweeps, walks, exceptions). All are kept; only exceptions are shown too. */
export function isLogLine(line: string): boolean {
  return LOG_LINE.test(line);
}

/** Sorts a line of output without colours. */
export function sortLine(line: string): OutputLine {
  const port = READY.exec(line)?.[1];
  if (port !== undefined) return { kind: "ready", port: Number(port) };
  if (isLogLine(line) && !line.startsWith(EXCEPTION)) return { kind: "audit" };
  if (/^✘ \[ERROR\] Build failed with /.test(line)) return { kind: "broken" };
  if (line.startsWith("⎔ Local server updated and ready")) return { kind: "updated" };
  return { kind: isNoise(line) || CHATTER.some((pattern) => pattern.test(line)) ? "chatter" : "message" };
}

/** An error of a build and its place: `✘ [ERROR] Unexpected ";"`, then `src/index.ts:9:10:`. */
const MISTAKE = /^\s+✘ \[ERROR\] (.*)$/;
const PLACE = /^\s+(\S+:\d+:\d+):$/;

/** Follows the output of `wrangler dev`, and knows whether the sources can be built. */
export class WranglerOutput {
  #broken = false;
  #mistakes: string[] = [];

  /** Why no request can be answered now, in one line; undefined after a successful build. */
  get buildError(): string | undefined {
    if (!this.#broken) return undefined;
    return `the Worker cannot be built: ${this.#mistakes.join("; ") || "see the terminal of npm run dev"}`;
  }

  /** Takes the next line. Returns its kind, and its text without colours. */
  take(colored: string): OutputLine & { readonly text: string } {
    const text = stripVTControlCharacters(colored);
    const line = sortLine(text);
    if (line.kind === "broken") {
      this.#broken = true;
      this.#mistakes = [];
    } else if (line.kind === "ready" || line.kind === "updated") {
      this.#broken = false;
    } else if (line.kind === "message" && this.#broken) {
      this.#noteMistake(text);
    }
    return { ...line, text };
  }

  #noteMistake(text: string): void {
    const mistake = MISTAKE.exec(text)?.[1];
    const place = PLACE.exec(text)?.[1];
    if (mistake !== undefined) this.#mistakes.push(mistake);
    const last = this.#mistakes.at(-1);
    if (place !== undefined && last !== undefined) this.#mistakes[this.#mistakes.length - 1] = `${last} (${place})`;
  }
}
