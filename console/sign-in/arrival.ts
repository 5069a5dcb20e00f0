/** A login through a browser that this tab began at an identity provider. The tab keeps it while it is away. */
export interface BegunLogin {
  readonly mount: string;
  readonly state: string;
  /** The secret without which nobody can go on with the login. */
  readonly clientNonce: string;
  /** The page to come back to. */
  readonly place: string;
}

/** What a provider answered, as far as it is passed on. */
export type ProviderAnswer = Readonly<Record<string, string>>;

/** How this page was opened: by the identity provider, with the answer to a login of this tab or with another one. */
export type Arrival =
  | { readonly isExpected: true; readonly place: string; readonly mount: string; readonly fields: ProviderAnswer }
  | { readonly isExpected: false; readonly place: string; readonly answer: ProviderAnswer };

/** Where the provider sends the browser back to, as with the reference's console. */
const CALLBACK = /^\/ui\/vault\/auth\/(.+)\/oidc\/callback$/;
/** What is passed on of the answer (RFC 6749, RFC 9207). Anybody could have written the rest. */
const PASSED_ON = ["state", "code", "iss", "error"] as const;

/** Path of the address to which the provider sends the browser back. */
export const callbackPath = (mount: string): string =>
  `/ui/vault/auth/${mount.split("/").map(encodeURIComponent).join("/")}/oidc/callback`;

/**
 * Reads the address of the page. Null: it is no answer of a provider.
 *
 * @param kept what the tab kept; null without anything
 */
export function readArrival(
  { pathname, search }: Pick<URL, "pathname" | "search">,
  kept: string | null,
): Arrival | null {
  if (!CALLBACK.test(pathname)) return null;
  const begun = readBegun(kept);
  const given = new URLSearchParams(search);
  const answer = Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = given.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
  );
  const isExpected = begun !== null && answer.state === begun.state && pathname === callbackPath(begun.mount);
  if (!isExpected) return { isExpected, place: "/ui/", answer };
  const { mount, place, clientNonce } = begun;
  return { isExpected, place, mount, fields: { ...answer, client_nonce: clientNonce } };
}

function readBegun(kept: string | null): BegunLogin | null {
  try {
    const begun: unknown = JSON.parse(kept ?? "null");
    return isBegun(begun) ? begun : null;
  } catch {
    return null;
  }
}

function isBegun(value: unknown): value is BegunLogin {
  if (typeof value !== "object" || value === null) return false;
  const { mount, state, clientNonce, place } = value as Partial<Record<keyof BegunLogin, unknown>>;
  const texts = [mount, state, clientNonce, place];
  return texts.every((text) => typeof text === "string" && text !== "") && String(place).startsWith("/ui/");
}
