/** The credential of a sign-in. */
export type Credential =
  | { readonly kind: "token" | "wrapping token"; readonly token: string }
  /** A login at an auth method. `path` is the encoded path of the request. */
  | { readonly kind: "login"; readonly path: string; readonly fields: Readonly<Record<string, string>> };
