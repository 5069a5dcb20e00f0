import {
  answersOf,
  operationIdOf,
  parameterDescription,
  pathParameters,
  routeFields,
} from "../../src/app/openapi/document.ts";
import type { Route } from "../../src/auth/route.ts";

/** What the description of a route leaves out, as phrases; none when it is complete. */
export function missingFrom(route: Route): string[] {
  const { description } = route;
  const shown = route.operations.filter((operation) => operation !== "scan" && operation !== "head");
  return [
    ...(description.summary === "" ? ["a summary"] : []),
    ...shown.filter((operation) => operationIdOf(description, operation) === "").map((name) => `an id for ${name}`),
    ...shown.filter((operation) => answersOf(description, operation).length === 0).map((name) => `answers to ${name}`),
    ...(new Set(shown.map((operation) => operationIdOf(description, operation))).size < shown.length
      ? ["an id of its own for each operation"]
      : []),
    ...pathParameters(route)
      .filter((name) => parameterDescription(route, name) === "")
      .map((name) => `what :${name} stands for`),
    ...(leavesFieldsOpen(route) && !description.fields ? ["fields"] : []),
    ...routeFields(route)
      .filter(({ description: text }) => text === "")
      .map(({ name }) => `a description of ${name}`),
  ];
}

/** True when the schema of a route says nothing about its fields, so that its description has to. */
function leavesFieldsOpen(route: Route): boolean {
  return route.access === "open" || route.fields.others === "kept";
}
