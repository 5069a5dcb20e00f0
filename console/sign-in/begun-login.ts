/** A login that this tab began at an identity provider. The tab stores it while the browser is at the provider. */
export interface BegunLogin {
  readonly mount: string;
  readonly state: string;
  /** A secret that is needed to continue the login. */
  readonly clientNonce: string;
  /** The page to return to. */
  readonly place: string;
}

/** Path of the redirect URI. */
export const callbackPath = (mount: string): string =>
  `/ui/vault/auth/${mount.split("/").map(encodeURIComponent).join("/")}/oidc/callback`;

/** True when an answer belongs to this login. An answer to another login, such as one of another tab, is not used. */
export const isAnswered = ({ mount, state }: BegunLogin, answered: string | undefined, pathname: string): boolean =>
  answered === state && pathname === callbackPath(mount);

/** Reads the stored login of the tab; null for none. */
export function readBegun(kept: string | null): BegunLogin | null {
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
