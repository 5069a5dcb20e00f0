import { DENIED, err, NOT_FOUND, ok, type Result } from "../../base/result.ts";
import type { Verdict } from "../../policy/acl.ts";
import type { CallerAction, Outcome } from "../../token/actions.ts";
import { cubbyholeProblem } from "./limits.ts";
import type { CubbyholeStore } from "./store.ts";

type CubbyholeAction = Extract<CallerAction, { kind: `cubbyhole_${string}` }>;

/** Performs an action on the cubbyhole of the token `row`, whose policies gave `verdict`. */
export function performCubbyhole(
  store: CubbyholeStore,
  action: CubbyholeAction,
  row: number,
  verdict: Verdict,
): Result<Outcome> {
  switch (action.kind) {
    case "cubbyhole_read": {
      const sealed = store.read(row, action.path);
      return sealed ? ok({ kind: "value", sealed }) : NOT_FOUND;
    }
    case "cubbyhole_list": {
      const limit = Math.min(verdict.limit || action.limit, action.limit);
      return ok({ kind: "keys", keys: store.list(row, action.prefix, action.after, limit) });
    }
    case "cubbyhole_write": {
      const exists = store.read(row, action.path) !== null;
      if (exists ? !verdict.update : !verdict.create) return err(DENIED);
      const problem = cubbyholeProblem(store.others(row, action.path), action.path.length + action.sealed.length);
      if (problem) return err(problem);
      store.write(row, action.path, action.sealed);
      return ok({ kind: "done" });
    }
    case "cubbyhole_delete":
      store.delete(row, action.path);
      return ok({ kind: "done" });
  }
}
