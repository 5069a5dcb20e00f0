import type { EndedToken } from "../../client/answers.d.ts";

/** How, when and by whom a token ended. */
export type TokenEnd = EndedToken["ended"];

/** The token or the entity that asked for something. */
export type Asker = NonNullable<TokenEnd["by"]>;
