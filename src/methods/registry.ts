import type { AuthMethod, AuthMethods } from "../auth/route.ts";
import { AWS_METHOD, CLOUD_METHOD } from "./aws/method.ts";
import { JWT_METHOD } from "./jwt/method.ts";

/** The auth methods that can be mounted. The token method is not one of them: it has one permanent mount. */
const METHODS: readonly AuthMethod[] = [AWS_METHOD, CLOUD_METHOD, JWT_METHOD];

export const AUTH_METHODS: AuthMethods = new Map(METHODS.map((method) => [method.type, method]));
