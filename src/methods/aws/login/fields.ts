import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { pasted, sent, text } from "../../../wire/fields.ts";
import type { AuthType } from "../rules/role.ts";
import { SIGNED_REQUEST_FIELDS } from "../sts/signed-request.ts";

/** The fields of a login; undefined when not sent. */
export const LOGIN_FIELDS = fieldSchema({
  role: sent(text()).describe("The role; default: the image, or the name of the principal"),
  identity: sent(pasted()).describe("The identity document of the instance, as base64"),
  signature: sent(pasted()).describe("The signature of the document"),
  pkcs7: sent(pasted()).describe("The document with its signature, instead of both"),
  nonce: sent(text()).describe("The nonce for later logins of the instance; generated if not sent"),
  ...SIGNED_REQUEST_FIELDS,
});

export type LoginFields = Values<typeof LOGIN_FIELDS>;

/**
 * The kind of login that the fields are for. A field counts when it was sent, even if it is empty. Fields that are only
 * a part of the other kind do not matter. Messages are those of the reference's AWS method (login).
 */
export function chooseKind(fields: LoginFields): Result<AuthType> {
  const pair = fields.identity !== undefined && fields.signature !== undefined;
  const vm = fields.pkcs7 !== undefined || pair;
  const method = fields.iam_http_request_method;
  const body = fields.iam_request_body !== undefined || method === "GET";
  const request = fields.iam_request_url !== undefined && fields.iam_request_headers !== undefined;
  const iam = method !== undefined && body && request;
  if (vm && iam) return refuse("supplied auth values for both vm and iam auth types");
  if (vm || iam) return ok(vm ? "vm" : "iam");
  return refuse("didn't supply required authentication values");
}
