import * as z from "zod";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { sent, text } from "../../../wire/fields.ts";
import type { AuthType } from "../roles/role.ts";

/** The fields of a login; undefined when not sent. */
export const LOGIN_FIELDS = z.object({
  role: sent(text()),
  identity: sent(text()),
  signature: sent(text()),
  pkcs7: sent(text()),
  nonce: sent(text()),
  iam_http_request_method: sent(text()),
  iam_request_url: sent(text()),
  iam_request_body: sent(text()),
  iam_request_headers: z.unknown().optional(),
});

export type LoginFields = z.infer<typeof LOGIN_FIELDS>;

/**
 * Which kind of login the fields are for. A field counts when it was sent, be it empty. What is there for one kind only
 * in part does not make the other ambiguous.
 */
export function chooseKind(fields: LoginFields): Result<AuthType, Failure> {
  const pair = fields.identity !== undefined && fields.signature !== undefined;
  const vm = fields.pkcs7 !== undefined || pair;
  const method = fields.iam_http_request_method;
  const body = fields.iam_request_body !== undefined || method === "GET";
  const request = fields.iam_request_url !== undefined && fields.iam_request_headers !== undefined;
  const iam = method !== undefined && body && request;
  if (vm && iam) return err(invalid("supplied auth values for both vm and iam auth types"));
  if (vm || iam) return ok(vm ? "vm" : "iam");
  return err(invalid("didn't supply required authentication values"));
}
