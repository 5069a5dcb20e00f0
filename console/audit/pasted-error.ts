import { href, type Parameters } from "../href.ts";
import { hasToken, isSecretLike } from "../secret-detection.ts";

/** The path of an API in a URL or at the beginning of a word, as error messages of clients have it. */
const API_PATH = /(?:^|[\s"'(]|https?:\/\/\S+?)\/(v1|api\/v2)\/([\w.@%/-]*\w)/;
/** The status after its name, as the clients of the reference print it. */
const STATUS = /\bcode:?\s+(\d{3})\b/i;
/** What `/v1/` serves, by the first segment. The store has no whole path of another one. */
const SERVED: ReadonlySet<string> = new Set(["auth", "cubbyhole", "identity", "sys"]);

/** A request that a client's error message names. */
interface PastedError {
  /** Path without the base path. */
  readonly path: string;
  /** Kinds of its events; "" for all, where the text is a URL and no message. */
  readonly kind: "" | "refusal,fault";
  /** False when no endpoint can have the path. */
  readonly isServed: boolean;
}

/** The request in a pasted error message; null when the text names no path of the API, or has a token. */
export function requestInError(text: string): PastedError | null {
  const [, base = "", encoded = ""] = API_PATH.exec(text) ?? [];
  const path = decodedPath(encoded);
  if (path === "" || isSecretLike(text) || hasToken(text)) return null;
  const isMessage = STATUS.test(text) || /\s/.test(text);
  const isServed = base !== "v1" || SERVED.has(path.split("/", 1).join());
  return { path, kind: isMessage ? "refusal,fault" : "", isServed };
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** The page with the events of the request, in the times that are asked for. */
export const errorHref = ({ path, kind }: PastedError, times: Parameters = {}): string =>
  href(["audit"], { path, kind, ...times });
