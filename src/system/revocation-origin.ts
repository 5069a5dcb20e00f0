/** The public properties of the token that made a request. None of them is secret. */
export interface Actor {
  /** "" for a batch token. */
  readonly accessor: string;
  readonly displayName: string;
  /** "" without an entity. */
  readonly entityId: string;
}

/** The token, the request and the job that ended a token. */
export interface RevocationOrigin {
  /** The token that made the request; null: the request had none, or it is not known. */
  readonly by: Actor | null;
  /** Id of the request; "" without one. */
  readonly request: string;
  /** Path of the request, as the audit log has it; absent without a request. */
  readonly path?: string;
  /** Id of the job that revoked the token; "" without one. */
  readonly job: string;
}

/** Maximum length of a stored `RevocationOrigin.path`, in characters. */
export const MAX_KEPT_PATH = 256;

/** The value for an end without a request. */
export const NO_ORIGIN: RevocationOrigin = { by: null, request: "", job: "" };
