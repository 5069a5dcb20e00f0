import * as z from "zod";
import { type Failure, invalid } from "../base/errors.ts";
import { MAX_TOKEN_LENGTH } from "../base/limits.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { AccessRequest } from "../policy/acl.ts";
import { isListing, pathProblem } from "../wire/request.ts";

const OPERATIONS = ["read", "list", "scan", "create", "update", "create_or_update", "patch", "delete"] as const;

const REQUEST = z.object({
  path: z.string().min(1),
  operation: z.enum(OPERATIONS),
  data: z.record(z.string(), z.unknown()).default({}),
  wrapTtlSeconds: z.number().int().min(0).default(0),
  clientAddress: z.string().max(64).optional(),
});

/** A request in the terms of policies, and where it comes from. */
export interface ReadRequest {
  readonly access: AccessRequest;
  readonly clientAddress: string | null;
}

/** Reads what another Worker sends: its types are compiled, so nothing is certain about the values. */
export function readAuthorizeRequest(request: unknown): Result<ReadRequest, Failure> {
  const parsed = REQUEST.safeParse(request);
  if (!parsed.success) return err(invalid(`invalid request: ${String(parsed.error.issues[0]?.path[0] ?? "it")}`));
  const { operation, data, wrapTtlSeconds, clientAddress } = parsed.data;
  // The same rules as for a path of the interface: without slashes at its beginning, a list without one at its end.
  const path = parsed.data.path.replace(/^\/+/, "");
  const problem = pathProblem(path);
  if (problem) return err(invalid(problem));
  const access: AccessRequest = {
    operation,
    path: isListing(operation) ? `${path.replace(/\/+$/, "")}/` : path,
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
  return ok({ access, clientAddress: clientAddress ?? null });
}

/** The text of a token; "" for everything that can't be one. */
export function readTokenText(token: unknown): string {
  return typeof token === "string" && token.length <= MAX_TOKEN_LENGTH ? token.trim() : "";
}
