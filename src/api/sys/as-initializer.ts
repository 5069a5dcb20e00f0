import type { OpenContext } from "../../auth/route.ts";
import type { Failure } from "../../base/errors.ts";
import { err, type Result } from "../../base/result.ts";
import type { fieldSchema } from "../../wire/fields.ts";
import { readFields } from "../../wire/read-fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { refusalOfStranger } from "./status/init.ts";

/** Serves a request of who may initialize this deployment, or restore a backup into it. */
export async function asInitializer<F>(
  { env, request }: OpenContext,
  schema: ReturnType<typeof fieldSchema<F>>,
  act: (fields: F) => Promise<Result<Reply, Failure>>,
): Promise<Result<Reply, Failure>> {
  const refusal = refusalOfStranger(env, request);
  if (refusal) return err(refusal);
  const read = readFields(schema, request.data, request.unreadNames);
  return read.ok ? act(read.value.values) : read;
}
