/** The token of a request, as others see it. Nothing of it is secret. */
export interface Asker {
  /** "" for a batch token; the id of a team's token. */
  readonly accessor: string;
  readonly displayName: string;
  /** "" without an entity. */
  readonly entityId: string;
}

/** Who asked for the end of a token. */
export interface EndRequest {
  /** null: no token asked, or it is not known. */
  readonly by: Asker | null;
  /** Id of the request; "" without one. */
  readonly request: string;
  /** Its path, as the audit log has it; absent without one. */
  readonly path?: string;
  /** Id of the job that revoked it; "" without one. */
  readonly job: string;
}

/** Characters of the path of a request that are kept with what it ended. */
export const MAX_KEPT_PATH = 256;

/** An end that no request asked for. */
export const UNASKED: EndRequest = { by: null, request: "", job: "" };
