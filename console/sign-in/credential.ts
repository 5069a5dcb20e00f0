/** What somebody signs in with. */
export type Credential =
  | { readonly kind: "token" | "wrapping token"; readonly token: string }
  /** A login by a method. `path` is that of the call, with its parts encoded. */
  | { readonly kind: "login"; readonly path: string; readonly fields: Readonly<Record<string, string>> };
