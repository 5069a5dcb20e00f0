/** The unsaved text of a policy. */
export interface Unsaved {
  readonly text: string;
  /** The version on which it is based; -1 for a new policy. */
  readonly version: number;
}

/** Prefix of the storage keys, followed by the policy's name ("" for a new policy). */
const KEY = "grove-policy:";

/** Key of the owner of the texts. Keys of policies have a colon instead of the second dash. */
const OWNER = "grove-policy-owner";

/** The text that this tab keeps across navigation, reloads and the end of a session; null without one. */
export function readUnsaved(name: string): Unsaved | null {
  try {
    const kept: unknown = JSON.parse(window.sessionStorage.getItem(KEY + name) ?? "null");
    const isOne = typeof kept === "object" && kept !== null && "text" in kept && "version" in kept;
    if (!isOne || typeof kept.text !== "string" || typeof kept.version !== "number") return null;
    return { text: kept.text, version: kept.version };
  } catch {
    return null;
  }
}

export function keepUnsaved(name: string, unsaved: Unsaved): void {
  try {
    window.sessionStorage.setItem(KEY + name, JSON.stringify(unsaved));
  } catch {
    // The tab's storage is full. The page still has the text.
  }
}

export function dropUnsaved(name: string): void {
  window.sessionStorage.removeItem(KEY + name);
}

/**
 * Deletes the texts of another user, because the new user may not have the right to read these policies.
 *
 * @param owner the entity of the token that signs in; without one, its accessor
 */
export function keepUnsavedOf(owner: string): void {
  if (window.sessionStorage.getItem(OWNER) !== owner) dropAllUnsaved();
  try {
    window.sessionStorage.setItem(OWNER, owner);
  } catch {
    // Without a stored owner the texts are deleted at the next sign-in.
  }
}

/** Deletes all texts, at sign-out. */
export function dropAllUnsaved(): void {
  window.sessionStorage.removeItem(OWNER);
  for (const key of Object.keys(window.sessionStorage)) {
    if (key.startsWith(KEY)) window.sessionStorage.removeItem(key);
  }
}
