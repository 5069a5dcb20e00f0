import { useState } from "preact/hooks";
import type { Token, TokenDetail } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, End, ProblemNotice } from "../ui/index.ts";
import { childrenText, descendantsText } from "./amount.ts";
import { readToken } from "./token-api.ts";
import { detailText, nameOf, titleOf } from "./token-name.ts";

/** The ancestors and the children of the token. */
export function Lineage({ detail }: { readonly detail: TokenDetail }) {
  const { api } = useSession();
  const { token, ancestors, ancestors_more: cut } = detail;
  const [children, setChildren] = useState(detail.children);
  const [next, setNext] = useState(detail.children_next);
  const [problem, setProblem] = useState<Problem | null>(null);
  const more = async (): Promise<void> => {
    const answer = await readToken(api, token.accessor, next);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return;
    setChildren([...children, ...answer.value.children]);
    setNext(answer.value.children_next);
  };
  return (
    <Card title="Lineage" beside={<span class="muted number">{childrenText(token.children) || "no children"}</span>}>
      <ol class="lineage">
        {cut && <li class="muted">more above</li>}
        {ancestors.map((one, at) => (
          <Relative key={one.accessor} token={one} depth={at} below={childrenText(one.children)} />
        ))}
        <li class="self" style={{ "--depth": String(ancestors.length) }}>
          <strong>{titleOf(token)}</strong> <span class="muted">this token</span>
        </li>
        {children.map((one) => (
          <Relative
            key={one.accessor}
            token={one}
            depth={ancestors.length + 1}
            below={descendantsText(one.descendants)}
          />
        ))}
        {next !== "" && (
          <li style={{ "--depth": String(ancestors.length + 1) }}>
            <button type="button" class="button slim" onClick={more}>
              Show more children
            </button>
          </li>
        )}
        {token.children === 0 && (
          <li class="muted" style={{ "--depth": String(ancestors.length + 1) }}>
            nothing below
          </li>
        )}
      </ol>
      {problem && <ProblemNotice problem={problem} />}
    </Card>
  );
}

interface RelativeProps {
  readonly token: Token;
  readonly depth: number;
  /** Its number of descendants as a text; "" without any. */
  readonly below: string;
}

function Relative({ token, depth, below }: RelativeProps) {
  return (
    <li style={{ "--depth": String(depth) }}>
      <span class="row">
        <a href={href(["tokens", token.accessor])}>{nameOf(token)}</a>{" "}
        <span class="muted small">{detailText(token)}</span>
      </span>
      <span class="muted small number">
        {below !== "" && `${below} · `}
        <End at={token.expires} />
      </span>
    </li>
  );
}
