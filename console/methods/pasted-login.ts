/** Turns a pasted ARN, document of an instance, or body of a login into the fields of a login. */
export function identityFields(pasted: string): Readonly<Record<string, unknown>> {
  const text = pasted.trim();
  if (text.startsWith("arn:")) return { arn: text };
  const body = bodyOf(text);
  return body ?? { identity: text };
}

/** Turns a pasted signed token, its claims, or the body of a login into the fields of a login. */
export function tokenFields(pasted: string): Readonly<Record<string, unknown>> {
  const text = pasted.trim();
  const value = objectIn(text);
  if (!value) return { jwt: text };
  return typeof value.jwt === "string" ? value : { claims: value };
}

/** Turns the pasted accessor of a secret-id, or the body of a login, into the fields of a login. */
export function secretIdFields(pasted: string): Readonly<Record<string, unknown>> {
  const text = pasted.trim();
  return text === "" ? {} : (objectIn(text) ?? { secret_id_accessor: text });
}

/** Fields of the body of a login that no identity document has. */
const PROOFS = ["identity", "pkcs7", "iam_request_url", "arn"];

function bodyOf(text: string): Readonly<Record<string, unknown>> | null {
  const value = objectIn(text);
  return value && PROOFS.some((name) => Object.hasOwn(value, name)) ? value : null;
}

/** The mistake in a pasted text that begins like JSON; "" without one, and for any other text. */
export const objectMistake = (pasted: string): string =>
  pasted.trim().startsWith("{") && objectIn(pasted.trim()) === null
    ? "It begins like JSON, and is none: a comma, a quote or a bracket is missing."
    : "";

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  if (!text.startsWith("{")) return null;
  try {
    return { ...JSON.parse(text) };
  } catch {
    return null;
  }
}
