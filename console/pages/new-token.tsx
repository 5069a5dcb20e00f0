import { useState } from "preact/hooks";
import { pathOf } from "../api.ts";
import { duration } from "../format.ts";
import { href } from "../href.ts";
import { DURATION, DURATION_HINT } from "../records/field.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Copy, Field } from "../ui/controls.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { useLoad } from "../ui/use-load.ts";

/** What was made: shown once, and kept nowhere. */
interface Made {
  readonly secret: string;
  readonly isWrapped: boolean;
  readonly accessor: string;
  readonly policies: readonly string[];
  readonly seconds: number;
  readonly warnings: readonly string[];
}

const WRAP_CHOICES = [
  ["300", "5 minutes"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
] as const;

const split = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");

export function NewTokenPage() {
  const { api } = useSession();
  const roles = useLoad("roles", () => api.list("auth/token/roles"));
  const policies = useLoad("policies", () => api.list("sys/policies/acl"));
  const [role, setRole] = useState("");
  const [names, setNames] = useState("");
  const [name, setName] = useState("");
  const [ttl, setTtl] = useState("1h");
  const [uses, setUses] = useState("");
  const [orphan, setOrphan] = useState(false);
  const [renewable, setRenewable] = useState(true);
  const [wrap, setWrap] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<Made | null>(null);

  const wrongTtl = ttl !== "" && !DURATION.test(ttl) ? DURATION_HINT : "";
  const wrongUses = uses !== "" && !/^\d+$/.test(uses) ? "A whole number" : "";

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (wrongTtl || wrongUses || busy) return;
    setBusy(true);
    const path =
      role !== "" ? `auth/token/create/${pathOf(role)}` : orphan ? "auth/token/create-orphan" : "auth/token/create";
    const given = split(names);
    const body = {
      ...(given.length > 0 && { policies: given }),
      ...(name !== "" && { display_name: name }),
      ...(ttl !== "" && { ttl }),
      ...(uses !== "" && { num_uses: Number(uses) }),
      renewable,
    };
    const answer = await api.call<unknown>(path, { body, ...(wrap !== "" && { wrapSeconds: Number(wrap) }) });
    setBusy(false);
    if (!answer.ok) return setProblem(answer.problem);
    setProblem(null);
    const { auth, wrap_info: wrapped, warnings } = answer.value;
    const seconds = wrapped?.ttl ?? 0;
    setMade({
      secret: wrapped?.token ?? auth?.client_token ?? "",
      isWrapped: Boolean(wrapped),
      accessor: auth?.accessor ?? "",
      policies: auth?.policies ?? [],
      seconds,
      warnings: warnings ?? [],
    });
  };

  if (made) return <MadeToken made={made} onAnother={() => setMade(null)} />;
  return (
    <>
      <PageHead title="New token" />
      <form class="card form" onSubmit={submit}>
        <Field label="Name" hint="Shown in lists and in the audit log.">
          <input
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            placeholder="deploy"
            autocomplete="off"
          />
        </Field>
        <Field
          label="Role"
          hint={
            roles.problem
              ? "Your policies refuse the list of roles. You may still name one."
              : "A role sets what its tokens may have; without one the token is yours."
          }
        >
          {roles.problem ? (
            <input value={role} onInput={(event) => setRole(event.currentTarget.value)} autocomplete="off" />
          ) : (
            <select value={role} onChange={(event) => setRole(event.currentTarget.value)}>
              <option value="">none</option>
              {(roles.value ?? []).map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Policies" hint="With commas between. None: those of your own token, or of the role.">
          <input
            value={names}
            onInput={(event) => setNames(event.currentTarget.value)}
            list="policy-names"
            placeholder="default, deploy"
            autocomplete="off"
            spellcheck={false}
          />
        </Field>
        <datalist id="policy-names">
          {(policies.value ?? []).map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <div class="pair">
          <Field label="Time to live" hint="Like 90m, 12h or 30d." wrong={wrongTtl}>
            <input value={ttl} onInput={(event) => setTtl(event.currentTarget.value.trim())} autocomplete="off" />
          </Field>
          <Field label="Uses" hint="None: no limit." wrong={wrongUses}>
            <input
              value={uses}
              onInput={(event) => setUses(event.currentTarget.value.trim())}
              inputMode="numeric"
              autocomplete="off"
            />
          </Field>
        </div>
        <label class="check">
          <input type="checkbox" checked={renewable} onChange={(event) => setRenewable(event.currentTarget.checked)} />
          Renewable
        </label>
        {role === "" && (
          <label class="check">
            <input type="checkbox" checked={orphan} onChange={(event) => setOrphan(event.currentTarget.checked)} />
            Without a parent: it stays when your token goes
          </label>
        )}
        <Field
          label="Hand over"
          hint="Wrapped, only the first who unwraps it gets the token, and a second try is noticed."
        >
          <select value={wrap} onChange={(event) => setWrap(event.currentTarget.value)}>
            <option value="">Show the token here</option>
            {WRAP_CHOICES.map(([seconds, label]) => (
              <option key={seconds} value={seconds}>
                Wrapped, for {label}
              </option>
            ))}
          </select>
        </Field>
        {problem && <ProblemNotice problem={problem} />}
        <div class="actions">
          <button
            type="submit"
            class="button primary"
            aria-disabled={busy}
            disabled={wrongTtl !== "" || wrongUses !== ""}
          >
            {busy ? "Making it…" : "Make the token"}
          </button>
        </div>
      </form>
    </>
  );
}

function MadeToken({ made, onAnother }: { readonly made: Made; readonly onAnother: () => void }) {
  const { secret, isWrapped, accessor, seconds, warnings } = made;
  return (
    <>
      <PageHead title={isWrapped ? "Wrapped token made" : "Token made"} />
      <div class="card form">
        <Notice tone="warn" title="Shown once">
          It is kept nowhere: copy it now.
        </Notice>
        <div class="field">
          <span class="label">{isWrapped ? "Wrapping token" : "Token"}</span>
          <Copy value={secret} label={isWrapped ? "Wrapping token" : "Token"} />
        </div>
        {isWrapped && (
          <div class="field">
            <span class="label">To unwrap it</span>
            <Copy value={`bao unwrap ${secret}`} label="Command" />
          </div>
        )}
        {isWrapped && <p class="muted">It works once, within {duration(seconds)}.</p>}
        {warnings.map((warning) => (
          <Notice key={warning} tone="warn" title={warning} />
        ))}
        <div class="actions">
          <button type="button" class="button" onClick={onAnother}>
            Another one
          </button>
          {accessor !== "" && (
            <a class="button primary" href={href(["tokens", accessor])}>
              Show the token's page
            </a>
          )}
        </div>
      </div>
    </>
  );
}
