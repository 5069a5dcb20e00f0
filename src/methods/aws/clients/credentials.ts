/** What calls to the cloud are signed with. */
export type Credentials = {
  readonly accessKeyId: string;
  /** A secret. */
  readonly secretAccessKey: string;
  /** A secret; null for the keys of a user. */
  readonly sessionToken: string | null;
};

/** Credentials that end. */
export type TemporaryCredentials = Credentials & {
  /** ms. */
  readonly expiresAt: number;
};
