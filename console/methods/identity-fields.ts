/** The fields of a login for what somebody pasted: an ARN, the document of an instance, or the body of a login itself. */
export function identityFields(pasted: string): Readonly<Record<string, unknown>> {
  const text = pasted.trim();
  if (text.startsWith("arn:")) return { arn: text };
  const body = bodyOf(text);
  return body ?? { identity: text };
}

/** Fields that only the body of a login has, and no document. */
const PROOFS = ["identity", "pkcs7", "iam_request_url", "arn"];

function bodyOf(text: string): Readonly<Record<string, unknown>> | null {
  if (!text.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(text);
    const isBody = typeof value === "object" && value !== null && PROOFS.some((name) => Object.hasOwn(value, name));
    return isBody ? { ...value } : null;
  } catch {
    return null;
  }
}
