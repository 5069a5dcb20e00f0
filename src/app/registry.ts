import { TEAMS } from "../api/team/kind.ts";
import { type AuthMethod, type CredentialKind, type Kinds, kindsOf } from "../auth/kinds.ts";
import { SETUP } from "../auth/setup.ts";
import { APP_ROLE_METHOD } from "../methods/approle/method.ts";
import { AWS_METHOD, CLOUD_METHOD } from "../methods/aws/method.ts";
import { JWT_METHOD } from "../methods/jwt/method.ts";
import { KUBERNETES_METHOD } from "../methods/kubernetes/method.ts";

/** The auth methods that can be mounted. The token method is not one of them: it has one permanent mount. */
const METHODS: readonly AuthMethod[] = [APP_ROLE_METHOD, AWS_METHOD, CLOUD_METHOD, JWT_METHOD, KUBERNETES_METHOD];

/** The kinds of credentials besides tokens in trees and batch tokens. */
const CREDENTIALS: readonly CredentialKind[] = [TEAMS, SETUP];

/** What is registered with the core. Nothing else imports from the folder of a kind. */
export const KINDS: Kinds = kindsOf(METHODS, CREDENTIALS);
