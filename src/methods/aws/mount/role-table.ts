import { DENIED, type Failure } from "../../../base/errors.ts";
import { err, type Result } from "../../../base/result.ts";
import type { CloudRole } from "../rules/role.ts";
import { changeRole, type RoleChange, type RoleChangeInput } from "../rules/role-change.ts";
import { MAX_ROLE_LENGTH, MAX_ROLES } from "../rules/role-limits.ts";
import type { Rows } from "./rows.ts";
import type { ConfigurationState } from "./state.ts";
import { full, mayWrite, type WriteGrants } from "./write-grants.ts";

/** The roles of a mount, by name in lower case. Each change is one transaction with the new state of the configuration. */
export class RoleTable {
  readonly #rows: Rows<CloudRole>;
  readonly #state: ConfigurationState;

  constructor(rows: Rows<CloudRole>, state: ConfigurationState) {
    this.#rows = rows;
    this.#state = state;
  }

  /** Makes or changes a role, unless principals have to be looked up first: then nothing is written. */
  write(name: string, write: Omit<RoleChangeInput, "before">, grants: WriteGrants): Result<RoleChange, Failure> {
    const before = this.#rows.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    const change = changeRole({ ...write, before });
    if (!change.ok || change.value.kind === "unresolved") return change;
    if (JSON.stringify(change.value.role).length > MAX_ROLE_LENGTH) return full("the role is too large");
    if (!before && this.#rows.count() >= MAX_ROLES) return full(`there are ${MAX_ROLES} roles already`);
    this.#rows.write(name, change.value.role);
    this.#state.changed();
    return change;
  }

  /** Safe to repeat. */
  delete(name: string): void {
    this.#rows.delete(name);
    this.#state.changed();
  }
}
