import { err, invalid, ok, type Result } from "../../../base/result.ts";
import { fieldSchema, sent, text, unread, type Values } from "../../../wire/fields.ts";
import type { AuthType } from "../rules/role.ts";

/** The fields of a login; undefined when not sent. */
export const LOGIN_FIELDS = fieldSchema({
  role: sent(text()).describe("The role; the image or the name of the principal unless sent"),
  identity: sent(text()).describe("The identity document of the instance, as base64"),
  signature: sent(text()).describe("The signature of the document"),
  pkcs7: sent(text()).describe("The document with its signature, in the place of both"),
  nonce: sent(text()).describe("What makes later logins of the instance possible; one is made unless sent"),
  iam_http_request_method: sent(text()).describe("The method of the signed request: POST or GET"),
  iam_request_url: sent(text()).describe("Its URL, as base64"),
  iam_request_body: sent(text()).describe("Its body, as base64"),
  iam_request_headers: unread("any").describe("Its headers, as base64 of JSON, or as JSON"),
});

export type LoginFields = Values<typeof LOGIN_FIELDS>;

/**
 * Which kind of login the fields are for. A field counts when it was sent, be it empty. What is there for one kind only
 * in part does not make the other ambiguous. Messages are those of the reference's AWS method (login).
 */
export function chooseKind(fields: LoginFields): Result<AuthType> {
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
