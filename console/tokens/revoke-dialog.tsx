import { useEffect, useState } from "preact/hooks";
import type { TokenDetail } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { MOST_MAKERS, orphansOfTokens } from "../receipts/orphans-made.ts";
import { ENDED_LATER, OrphansNotice } from "../receipts/orphans-notice.tsx";
import { Confirm } from "../records/confirm.tsx";
import { typedNumberMistake } from "../records/typed-confirmation.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { go } from "../router.ts";
import { mayDo, useSession } from "../session.ts";
import {
  Dialog,
  Facts,
  Field,
  Figures,
  Focused,
  Notice,
  SendProblem,
  TextInput,
  useLoad,
  useTried,
  Working,
} from "../ui/index.ts";
import { useEntityNames } from "../use-names.ts";
import { amountText } from "./amount.ts";
import { insideOf } from "./inside.ts";
import { InsideNotice } from "./inside-notice.tsx";
import { noteRevocation } from "./recent-revocations.ts";
import { entitiesIn, groupRows, type Preview } from "./revocation-preview.ts";
import type { Selection } from "./selection.ts";
import { beginRevocation, previewRevocation, revokeToken } from "./token-api.ts";
import { isWrapping, nameOf, titleOf } from "./token-name.ts";
import { WaysBackNotice } from "./ways-back-notice.tsx";

interface RevokeOneProps {
  readonly detail: TokenDetail;
  readonly onClose: () => void;
  readonly onRevoked: () => void;
}

/**
 * Confirms the revocation of a token and its descendants by the token's name. Who may revoke by a selection gets a job,
 * whose page is the receipt.
 */
export function RevokeOne({ detail, onClose, onRevoked }: RevokeOneProps) {
  const session = useSession();
  const { api, self } = session;
  const { token, descendants, leases, cubbyhole, failing_leases: failing = 0 } = detail;
  const name = titleOf(token);
  const mayAsk = isWrapping(token) && mayDo(session, ...needsOf(ASKED_PATHS.find));
  const inside = useLoad(mayAsk ? token.accessor : "", async () => (mayAsk ? insideOf(api, token.accessor) : done("")));
  const [endsInside, setEndsInside] = useState(false);
  const accessors = [token.accessor, ...(endsInside && inside.value ? [inside.value] : [])];
  const isOwn = token.accessor === self.accessor;
  // After its own end this session can't read a receipt.
  const hasReceipt = !isOwn && mayDo(session, ...needsOf(ASKED_PATHS.revoke));
  /** Answers the id of the job; "" without one. */
  const send = async (): Promise<Answer<string>> => {
    if (!hasReceipt) {
      // The token inside first: it can be found only while its wrapping token is alive.
      for (const accessor of accessors.toReversed()) {
        const answer = await revokeToken(api, accessor);
        if (!answer.ok) return answer;
      }
      return done("");
    }
    const selection = { accessors, include_root: true, include_self: true };
    return beginRevocation(api, selection, { count: accessors.length });
  };
  return (
    <Confirm
      title={`Revoke ${name}`}
      typing={name}
      action={`Revoke ${counted(descendants.count + 1, "token")}`}
      working="Revoking: the answer comes when every part of the service refuses them"
      send={send}
      onDone={(job) => {
        noteRevocation({ accessors });
        if (job === "") onRevoked();
        else go(href(["receipts", job]));
      }}
      onClose={onClose}
    >
      <Figures
        rows={{
          "Tokens that end": amountText({ count: descendants.count + 1, more: descendants.more }),
          "Leases that end": amountText(leases),
          "Cubbyhole values": count(cubbyhole.values),
        }}
      />
      <p>
        {descendants.count > 0 ? "This token and everything below it are" : "This token is"} refused from the answer on.
        There is no way back.
      </p>
      {!isWrapping(token) && (
        <p class="small muted">Batch tokens below it end too. No list has them, so they are not counted.</p>
      )}
      {failing > 0 && (
        <Notice tone="bad" title={`${counted(failing, "lease")} of these failed before`}>
          The targets have not accepted the revocation, and this does not change that: the secrets can still be used.
        </Notice>
      )}
      {isWrapping(token) && (inside.problem || typeof inside.value === "string") && (
        <InsideNotice inside={inside.value ?? ""} isEndedToo={endsInside} onChange={setEndsInside} />
      )}
      <OrphansNotice of={token.accessor} ask={() => orphansOfTokens(api, [token.accessor])} action={ENDED_LATER} />
      {isOwn && (
        <Notice tone="warn" title="This is the token you are signed in with">
          You will be signed out.
        </Notice>
      )}
    </Confirm>
  );
}

interface RevokeManyProps {
  readonly selection: Selection;
  /** The selection in words. */
  readonly text: string;
  readonly onClose: () => void;
}

/** Shows what a bulk revocation would end, asks for the number as a confirmation, and opens the page of the job. */
export function RevokeMany({ selection, text, onClose }: RevokeManyProps) {
  const { api } = useSession();
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [typed, setTyped] = useState("");
  const [tried, attempt] = useTried();
  const [soFar, setSoFar] = useState(0);
  const [busy, setBusy] = useState(false);
  /** The total that was confirmed, when it has grown since; null: it has not. */
  const [outgrown, setOutgrown] = useState<number | null>(null);

  const key = JSON.stringify(selection);
  useEffect(() => {
    let waits = true;
    const counting = (counted: number): boolean => {
      if (waits) setSoFar(counted);
      return waits;
    };
    previewRevocation(api, selection, counting).then((answer) => {
      if (!waits) return;
      if (answer.ok) setPreview(answer.value);
      else setProblem(answer.problem);
    });
    return () => {
      waits = false;
    };
  }, [api, key]);

  const total = preview?.total ?? 0;
  const mistake = typedNumberMistake(total, typed, "the number of all tokens that end");
  const begin = async (event: Event): Promise<void> => {
    if (!attempt(event, total > 0 && mistake === "") || !preview || busy) return;
    setBusy(true);
    setProblem(null);
    setOutgrown(null);
    const answer = await beginRevocation(api, selection, preview);
    const anew =
      !answer.ok && answer.problem.status === 400 ? await previewRevocation(api, selection, () => true) : null;
    setBusy(false);
    if (anew?.ok && (anew.value.total > total || anew.value.count > preview.count)) {
      setPreview(anew.value);
      setTyped("");
      return setOutgrown(total);
    }
    if (!answer.ok) return setProblem(answer.problem);
    noteRevocation(selection);
    go(href(["receipts", answer.value]));
  };

  return (
    <Dialog title="Revoke tokens" onClose={onClose}>
      <form class="stack" onSubmit={begin} noValidate>
        <p class="break">{text}, with everything below them.</p>
        {!preview && !problem && (
          <p class="muted" aria-live="polite">
            Counting what would end{soFar > 0 ? `: ${counted(soFar, "token")} so far` : ""}…
          </p>
        )}
        {preview && outgrown !== null && (
          <Focused on={outgrown}>
            <Notice tone="warn" title="Nothing has ended: there are more now">
              {preview.total > outgrown && `${counted(preview.total, "token")} would end, and not ${count(outgrown)}. `}
              The numbers below are new.
            </Notice>
          </Focused>
        )}
        {preview && <PreviewFacts preview={preview} />}
        {preview && preview.total > 0 && <Orphans preview={preview} />}
        {preview && <WaysBackNotice filter={selection} preview={preview} />}
        {preview && preview.total > 0 && (
          <Field
            label={`Type ${count(preview.total)} to confirm`}
            hint="The number of all tokens that end."
            wrong={tried ? mistake : ""}
          >
            <TextInput value={typed} onText={setTyped} inputMode="numeric" autofocus />
          </Field>
        )}
        {busy && <Working text="Counting again, and beginning the revocation" />}
        <SendProblem problem={problem} />
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            {busy ? "Close" : "Keep them"}
          </button>
          {preview && preview.total > 0 && (
            <button type="submit" class="button danger solid" aria-disabled={busy}>
              {busy ? "Working…" : `Revoke ${counted(preview.total, "token")}`}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

/** Orphans that the matching tokens made, if these are few enough to ask for. */
function Orphans({ preview: { count: matching, sample = [] } }: { readonly preview: Preview }) {
  const { api } = useSession();
  const makers = sample.map(({ accessor }) => accessor);
  const areAll = makers.length >= matching && makers.length <= MOST_MAKERS;
  return (
    <OrphansNotice of={makers.join()} ask={areAll ? () => orphansOfTokens(api, makers) : null} action={ENDED_LATER} />
  );
}

/** Most names that the dialog shows. */
const SHOWN_NAMES = 8;

/** The numbers of a preview, and the names of the matching tokens if there are several. */
export function PreviewFacts({ preview }: { readonly preview: Preview }) {
  const { sample = [], skipped, leases, total } = preview;
  const kept = [
    ...(skipped.root > 0 ? [`${counted(skipped.root, "root token")} stay`] : []),
    ...(skipped.self > 0 ? ["the token you are signed in with stays"] : []),
  ];
  const names = [...new Set(sample.map(nameOf))];
  const groups = groupRows(preview, useEntityNames(entitiesIn(preview)));
  return (
    <>
      <Figures
        rows={{
          "Tokens that match": count(preview.count),
          "Tokens that end, with all below": count(total),
          "Leases that end": amountText(leases),
        }}
      />
      {Object.keys(groups).length > 0 && <Facts rows={groups} />}
      {kept.length > 0 && <p class="muted">{kept.join("; ")}.</p>}
      {names.length > 1 && (
        <p class="small muted break">
          Among those that match: {names.slice(0, SHOWN_NAMES).join(", ")}
          {(preview.count > sample.length || names.length > SHOWN_NAMES) && " …"}
        </p>
      )}
    </>
  );
}
