import { href } from "../href.ts";
import { GivenBy } from "../policies/usage.tsx";
import type { Preview } from "./revocation-preview.ts";
import { entityOf, policyOf, waysOf } from "./ways-back.ts";

interface WaysBackNoticeProps {
  readonly filter: Readonly<Record<string, unknown>>;
  /** The preview; null when not known. */
  readonly preview: Preview | null;
}

/** After a revocation by a filter: how its clients could get new tokens, as far as that is known. */
export function WaysBackNotice({ filter, preview }: WaysBackNoticeProps) {
  const ways = preview === null ? [] : waysOf(preview.by);
  const policy = policyOf(filter);
  const entity = entityOf(filter);
  return (
    <section class="stack tight small" aria-label="What could still let them in">
      <p>This ends tokens. Their clients can still get new ones:</p>

      {ways.length > 0 && (
        <p class="break">
          They came by{" "}
          {ways.map((way, at) => (
            <span key={way.href}>
              {at > 0 && ", "}
              <a href={way.href}>{way.name}</a>
            </span>
          ))}
          : that stays open.
        </p>
      )}
      {entity !== "" && (
        <p>
          <a href={href(["identity"], { id: entity })}>Their entity</a> can log in again, unless it is disabled.
        </p>
      )}
      {policy !== "" && (
        <p class="break">
          The policy {policy} stays. <GivenBy name={policy} />
        </p>
      )}
      <p>Tokens of teams are in no list of tokens: a filter finds none of them.</p>
      <p>
        Batch tokens below these end too. No list has them, so they are not counted. Those without a parent stay until
        their time is over, or all tokens of their entity are ended.
      </p>
    </section>
  );
}
