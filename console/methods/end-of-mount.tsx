import type { ComponentChildren } from "preact";
import { ASKED_PATHS } from "../asked-paths.ts";
import { href } from "../href.ts";
import type { Needs } from "../needed-capabilities.ts";
import { keepCounted } from "../receipts/counted-before.ts";
import { readRevocation } from "../receipts/read-revocation.ts";
import { useCountedBefore } from "../receipts/use-counted-before.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { type Answer, done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { EndingNumbers } from "../tokens/ending-numbers.tsx";
import { noteRevocation } from "../tokens/recent-revocations.ts";

interface EndOfMountProps {
  readonly mount: string;
  readonly label: string;
  readonly needs: Needs;
  readonly title: string;
  readonly action: string;
  readonly send: () => Promise<Answer<unknown>>;
  /** Called with the address of the receipt; "" when the caller may not read it. */
  readonly onDone: (receipt: string) => void;
  /** The consequences. */
  readonly children: ComponentChildren;
}

/** A button that ends all tokens of a mount, after showing how many they are, and finds the receipt. */
export function EndOfMount({ mount, send, onDone, children, ...button }: EndOfMountProps) {
  const session = useSession();
  const { api } = session;
  const path = `auth/${mount}/`;
  const selection = { mount: path };
  const [counted, noteCounted] = useCountedBefore(selection);
  const receipt = async (): Promise<string> => {
    if (!mayDo(session, ASKED_PATHS.revocations, "read", "sudo")) return "";
    const found = await readRevocation(api, ({ prefix }) => prefix === path, false);
    const request = found.ok ? (found.value?.request_id ?? "") : "";
    if (request === "") return "";
    keepCounted(request, counted);
    return href(["revocations", request]);
  };
  return (
    <ConfirmButton
      {...button}
      look="button danger"
      typing={mount}
      working="Ending the tokens: the answer comes when every part of the service refuses them"
      send={async () => {
        const answer = await send();
        if (!answer.ok) return answer;
        noteRevocation(selection);
        return done(await receipt());
      }}
      onDone={onDone}
    >
      <EndingNumbers selection={selection} onCounted={noteCounted} />
      {children}
    </ConfirmButton>
  );
}
