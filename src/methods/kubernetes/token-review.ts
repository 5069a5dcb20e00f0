import { isObject } from "../../wire/fields.ts";
import { type ServiceAccount, serviceAccountOf } from "./service-account.ts";

/** Reads the status of a TokenReview. Whatever is not exactly as it must be is no authentication. */
export function reviewedAccount(status: Readonly<Record<string, unknown>>, audience: string): ServiceAccount | null {
  const { authenticated, error, user, audiences } = status;
  if (authenticated !== true || (error !== undefined && error !== "") || !isObject(user)) return null;
  // A server that does not know audiences answers without them: it has not checked any.
  if (audience !== "" && !(Array.isArray(audiences) && audiences.includes(audience))) return null;
  const [system, kind, namespace, name, ...more] = String(user.username).split(":");
  if (system !== "system" || kind !== "serviceaccount" || more.length > 0) return null;
  return serviceAccountOf(namespace, name, user.uid);
}
