/** What records belong to: an auth mount, or the issuer. */
export interface Scope {
  readonly name: string;
  /** The auth mount that it is; absent where there is none. */
  readonly mount?: string;
  /** The endpoint of something below it. */
  readonly endpoint: (path: string, name?: string) => string;
  /** The address of a page about it. */
  readonly page: (query: Readonly<Record<string, string>>) => string;
}
