/** A request of a load. */
export interface LoadRequest {
  /** What its answers are counted under. */
  readonly label: string;
  readonly method: string;
  /** With base path and query. */
  readonly path: string;
  /** A secret; absent: none is sent. `KEPT_TOKEN` stands for the token that this connection was last given. */
  readonly token?: string;
  readonly body?: unknown;
  /** A form, in the place of a JSON body. */
  readonly form?: string;
  /** True when the answer's `auth.client_token` is kept for the requests that follow on the same connection. */
  readonly keepsToken?: boolean;
}

/** In the place of a token, in header or body: the one that the connection was last given. */
export const KEPT_TOKEN = "{kept}";

/** The bytes of a request as HTTP/1.1. `kept` is what `KEPT_TOKEN` stands for. */
export function renderRequest(request: LoadRequest, host: string, kept: string): Buffer {
  const json = request.body === undefined ? "" : JSON.stringify(request.body).replaceAll(KEPT_TOKEN, kept);
  const body = request.form ?? json;
  const lines = [`${request.method} ${request.path} HTTP/1.1`, `Host: ${host}`];
  if (request.token !== undefined) lines.push(`X-Vault-Token: ${request.token.replaceAll(KEPT_TOKEN, kept)}`);
  if (request.form !== undefined) lines.push("Content-Type: application/x-www-form-urlencoded");
  else if (request.body !== undefined) lines.push("Content-Type: application/json");
  if (body !== "" || request.body !== undefined || request.method !== "GET") {
    lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** True when the bytes depend on what the connection was given before. */
export function usesKeptToken(request: LoadRequest): boolean {
  return JSON.stringify([request.token, request.body]).includes(KEPT_TOKEN);
}
