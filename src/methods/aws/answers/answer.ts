import { err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { serviceUnavailable } from "../../send.ts";
import { onlyChild, parseXml, textAt, type XmlElement } from "./xml.ts";

/** An unread answer of the cloud. */
export type CloudAnswer = {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
};

/** The service of a call, also for messages. */
export type Service = "STS" | "EC2" | "IAM";

/** Maximum size of an answer. The longest describes as many instances as a call may have, with the longest tags. */
export const MAX_ANSWER_BYTES: Readonly<Record<Service, number>> = {
  STS: 256 * 1024,
  IAM: 256 * 1024,
  EC2: 2 * 1024 * 1024,
};

/** Error codes of throttling and of temporary failures. They count with any status. */
const TEMPORARY_CODES: ReadonlySet<string> = new Set([
  ...["Throttling", "ThrottlingException", "RequestThrottled", "RequestThrottledException", "RequestLimitExceeded"],
  ...["TooManyRequestsException", "ServiceUnavailable", "Unavailable", "InternalError", "InternalFailure"],
]);

const MAX_REFUSAL_LENGTH = 64 * 1024;

/**
 * Reads the document of an answer: status 200, type text/xml, well-formed, with the root element of the operation.
 * Anything else could be text of an attacker. The message about a refusal has its status and error code only, and never
 * another part of its body.
 */
export function readAnswer(answer: CloudAnswer, service: Service, root: string): Result<XmlElement> {
  if (answer.status !== 200) return err(refusalOf(answer, service));
  if (!/^text\/xml(; ?charset=utf-8)?$/i.test(answer.contentType ?? "")) {
    return refuse(`answer of ${service} is not of the type text/xml`);
  }
  const document = answer.body.length > MAX_ANSWER_BYTES[service] ? null : parseXml(answer.body);
  if (document?.name !== root) return err(unreadable(service));
  return ok(document);
}

/**
 * Reads the element at a path below the result of an operation. Each element on the path must be the only one of its
 * name.
 */
export function readResult(
  answer: CloudAnswer,
  service: Service,
  operation: string,
  ...path: readonly string[]
): Result<XmlElement> {
  const document = readAnswer(answer, service, `${operation}Response`);
  if (!document.ok) return document;
  const result = onlyChild(document.value, `${operation}Result`, ...path);
  return result === null ? err(unreadable(service)) : ok(result);
}

/** The failure of an answer without the expected elements. */
export function unreadable(service: Service): Failure {
  return invalid(`error parsing ${service} response`);
}

/** The error code of a refusal, such as `SignatureDoesNotMatch`; null without one. */
export function errorCodeOf(answer: CloudAnswer): string | null {
  const document = answer.body.length > MAX_REFUSAL_LENGTH ? null : parseXml(answer.body);
  if (document === null) return null;
  // STS and IAM: ErrorResponse/Error; EC2: Response/Errors/Error.
  const code = textAt(document, "Error", "Code") ?? textAt(document, "Errors", "Error", "Code");
  return code !== null && /^[A-Za-z.]{1,64}$/.test(code) ? code : null;
}

/** True when the same request may succeed later. */
export function isTemporary(answer: CloudAnswer): boolean {
  if (answer.status === 200) return false;
  return answer.status >= 500 || answer.status === 429 || TEMPORARY_CODES.has(errorCodeOf(answer) ?? "");
}

function refusalOf(answer: CloudAnswer, service: Service): Failure {
  const code = errorCodeOf(answer);
  const message = `received error code ${answer.status} from ${service}${code === null ? "" : `: ${code}`}`;
  return isTemporary(answer) ? serviceUnavailable(message) : invalid(message);
}
