import { MethodLink, RoleLink } from "../tokens/links.tsx";
import type { AuditEvent } from "./event.ts";

/** What is said of a login: its method, its role, and who was proved to ask. */
type Login = Pick<AuditEvent, "path" | "mount" | "role" | "principal">;

/** In the place of the name of a role that the mount does not have. */
const HASH = /^hmac-sha256:/;

interface LoginTextProps {
  readonly login: Login;
  /** The type of the method, where it is known. */
  readonly type?: string | undefined;
}

/** Where a login was, for which role and as whom: `at auth/jobs/ with the role web as alice`. */
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
