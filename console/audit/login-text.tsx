import { MethodLink, RoleLink } from "../tokens/links.tsx";
import type { AuditEvent } from "./event.ts";

/** The fields of a login: its method, its role and its principal. */
type Login = Pick<AuditEvent, "path" | "mount" | "role" | "principal">;

/** What the log has in place of the name of a role that the mount does not have. */
const HASH = /^hmac-sha256:/;

interface LoginTextProps {
  readonly login: Login;
  /** The type of the method; undefined when not known. */
  readonly type?: string | undefined;
}

/** The mount, role and principal of a login: `at auth/jobs/ with the role web as alice`. */
export function LoginText({ login: { path = "", mount = "", role, principal }, type }: LoginTextProps) {
  // A login through a browser has several steps.
  const step = path.startsWith(mount) ? path.slice(mount.length) : path;
  return (
    <>
      at {type !== undefined && `the ${type} method `}
      <MethodLink mount={mount} />
      {step !== "login" && step !== "" && (
        <>
          {" "}
          (<code>{step}</code>)
        </>
      )}
      {role !== undefined &&
        (HASH.test(role) ? (
          " with an unknown role"
        ) : (
          <>
            {" "}
            with the role <RoleLink mount={mount} role={role} />
          </>
        ))}
      {principal !== undefined && <span class="break"> as {principal}</span>}
    </>
  );
}
