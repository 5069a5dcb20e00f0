import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Api } from "../api.ts";
import { count } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import type { RecordValue } from "../records/field.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { useSession } from "../session.ts";
import {
  Accessor,
  Card,
  type DataColumn,
  DataTable,
  Empty,
  End,
  PageButtons,
  ProblemNotice,
  Tags,
  useLoad,
} from "../ui/index.ts";
import { NewSecretId } from "./new-secret-id.tsx";
import { endOf, type SecretIdFacts } from "./secret-id.ts";
import { SecretIdNumbers } from "./secret-id-numbers.tsx";

/** Secret-ids of a page. Each takes a look-up. */
const PAGE = 20;

interface SecretIdsProps {
  /** The endpoint of the role. */
  readonly path: string;
  readonly role: RecordValue;
  /** The accessor of the secret-id to highlight; "" for none. */
  readonly marked: string;
}

/** The secret-ids of a role; a note if the role needs none. */
export function SecretIds(props: SecretIdsProps) {
  if (props.role.bind_secret_id !== false) return <SecretIdList {...props} />;
  return (
    <Card title="Secret-ids" body>
      <p class="muted">
        This role needs none: its role-id is enough to log in, from the networks that the role allows.
      </p>
    </Card>
  );
}

/** The secret-ids of a role, page by page by their accessors. */
function SecretIdList({ path, role, marked }: SecretIdsProps) {
  const { api } = useSession();
  // The accessors after which the pages up to the current one begin.
  const [starts, setStarts] = useState<readonly string[]>([""]);
  const after = starts.at(-1) ?? "";
  const page = useLoad(`${path} ${after} ${marked}`, () => readPage(api, path, after, marked));
  const { value } = page;
  return (
    <Card
      title="Secret-ids"
      of={page}
      beside={<NewSecretId path={`${path}/secret-id`} role={role} label="New secret-id…" onMade={page.reload} />}
    >
      {value && marked !== "" && starts.length === 1 && !value.rows.some(({ accessor }) => accessor === marked) && (
        <p class="body" role="status">
          The secret-id with the accessor <code>{marked}</code> is not among these any more:{" "}
          <a href={href(["audit"], { accessor: marked })}>what is recorded of it</a>.
        </p>
      )}
      {value?.problem && (
        <div class="body">
          <ProblemNotice problem={value.problem} />
        </div>
      )}
      <DataTable
        label="Secret-ids"
        rows={value?.rows}
        keyOf={({ accessor }) => accessor}
        columns={columnsOf(path, role, marked, page.reload)}
        marked={marked}
        empty={<Empty title={starts.length > 1 ? "No further secret-ids" : "No secret-ids yet"} />}
      />
      {value && (starts.length > 1 || value.next !== "") && (
        <PageButtons
          page={starts.length}
          text={`Page ${count(starts.length)}`}
          isLast={value.next === ""}
          onPage={(number) => setStarts([...starts, value.next].slice(0, number))}
        />
      )}
    </Card>
  );
}

interface Row {
  readonly accessor: string;
  /** null when it has ended meanwhile, or may not be looked up. */
  readonly facts: SecretIdFacts | null;
}

interface SecretIdPage {
  readonly rows: readonly Row[];
  /** The accessor after which the next page begins; "" at the end. */
  readonly next: string;
  /** The problem of the first failed look-up. */
  readonly problem: Problem | null;
}

/** @param marked accessor of a secret-id that the first page has as well; "" for none */
async function readPage(api: Api, path: string, after: string, marked: string): Promise<Answer<SecretIdPage>> {
  const listed = await api.read<{ readonly keys?: readonly string[] }>(`${path}/secret-id`, {
    list: true,
    after,
    // One more than a page, to know whether there is a next page.
    limit: PAGE + 1,
  });
  if (!listed.ok) return listed;
  const { keys = [] } = listed.value;
  const listedHere = keys.slice(0, PAGE);
  const isElsewhere = marked !== "" && after === "" && !listedHere.includes(marked);
  const accessors = isElsewhere ? [marked, ...listedHere] : listedHere;
  const found = await Promise.all(
    accessors.map((accessor) =>
      api.call<SecretIdFacts>(`${path}/secret-id-accessor/lookup`, { body: { secret_id_accessor: accessor } }),
    ),
  );
  const problems = found.flatMap((one) => (one.ok || one.problem.status === 404 ? [] : [one.problem]));
  return done({
    rows: accessors.flatMap((accessor, at) => {
      const one = found[at];
      if (one?.ok !== true && isElsewhere && at === 0) return [];
      return [{ accessor, facts: one?.ok ? one.value.data : null }];
    }),
    next: keys.length > PAGE ? (listedHere.at(-1) ?? "") : "",
    problem: problems[0] ?? null,
  });
}

/** A cell for a value of a secret-id, or a dash if it could not be looked up. */
const known =
  (show: (facts: SecretIdFacts) => ComponentChildren) =>
  ({ facts }: Row): ComponentChildren =>
    facts === null ? <span class="muted">–</span> : show(facts);

function columnsOf(
  path: string,
  role: RecordValue,
  marked: string,
  onDestroyed: () => void,
): readonly DataColumn<Row>[] {
  return [
    {
      label: "Accessor",
      cell: ({ accessor }) => (
        <>
          <Accessor value={accessor} /> {accessor === marked && <span class="tag bad">the one you looked for</span>}
        </>
      ),
    },
    {
      label: "Logins left",
      right: true,
      cell: known(({ secret_id_num_uses: uses }) => (uses === 0 ? "no limit" : count(uses))),
    },
    { label: "Ends", cell: known((facts) => <End at={endOf(facts)} />) },
    {
      label: "Metadata",
      cell: known(({ metadata }) => (
        <Tags names={Object.entries(metadata).map(([name, text]) => `${name}=${text}`)} most={4} />
      )),
    },
    { label: "Networks", cell: known((facts) => <Networks facts={facts} />) },
    {
      label: "Destruction",
      isBare: true,
      right: true,
      cell: ({ accessor }) => <Destroy path={path} accessor={accessor} role={role} onDone={onDestroyed} />,
    },
  ];
}

function Networks({ facts: { cidr_list: logins, token_bound_cidrs: tokens } }: { readonly facts: SecretIdFacts }) {
  if (logins.length === 0 && tokens.length === 0) return <span class="muted">of the role</span>;
  return <Tags names={[...logins, ...tokens.map((one) => `tokens: ${one}`)]} most={4} />;
}

/** Number of digits of the accessor that the user types to destroy the secret-id. */
const TYPED = 6;

interface DestroyProps {
  readonly path: string;
  readonly accessor: string;
  readonly role: RecordValue;
  readonly onDone: () => void;
}

function Destroy({ path, accessor, role, onDone }: DestroyProps) {
  const { api } = useSession();
  const at = `${path}/secret-id-accessor/destroy`;
  return (
    <ConfirmButton
      label="Destroy…"
      needs={needsOf(at)}
      title="Destroy the secret-id"
      typing={accessor.slice(-TYPED)}
      action="Destroy"
      send={() => api.call(at, { body: { secret_id_accessor: accessor } })}
      onDone={onDone}
    >
      <SecretIdNumbers path={path} accessor={accessor} />
      <p>
        The secret-id with the accessor <code>{accessor}</code> can no longer be used to log in.{" "}
        {role.token_ends_with_secret_id === true
          ? "The tokens that it gave end with it, and everything below them. Tokens of logins before the role had this setting stay."
          : "The tokens that it gave stay until they end."}
      </p>
      <p>
        <a href={href(["audit"], { accessor })}>Its logins, and the tokens that they made</a>: each can be revoked on
        its page.
      </p>
    </ConfirmButton>
  );
}
