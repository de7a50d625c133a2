/**
 * Expressions of templates that Liquid accepts and reads as something else: it passes over what it cannot combine, so
 * `agent.os eq "linux"` would be true for every agent, and a comparison without its right side always false.
 */
import { TypeGuards, Value, type Template } from "liquidjs";

type Token = Value["initial"]["postfix"][number];

/** What is wrong with an expression of `templates` or of what they hold, or undefined. */
export function expressionProblem(templates: readonly Template[]): string | undefined {
  for (const template of templates) {
    for (const argument of template.arguments?.() ?? []) {
      const problem = argument instanceof Value ? orderProblem(argument.initial.postfix) : undefined;
      if (problem !== undefined) return problem;
    }
    const below = expressionProblem(childrenOf(template));
    if (below !== undefined) return below;
  }
  return undefined;
}

function childrenOf(template: Template): Template[] {
  const steps = template.children?.(false, true);
  if (steps === undefined) return [];
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Values and operators must take turns in the order in which they are written. */
function orderProblem(tokens: readonly Token[]): string | undefined {
  let before: Token | undefined;
  let wantsValue = true;
  for (const token of tokens.toSorted((a, b) => a.begin - b.begin)) {
    const text = token.getText();
    if (TypeGuards.isOperatorToken(token)) {
      const isUnary = token.operator === "not";
      if (isUnary !== wantsValue) return `${text} stands where ${wantsValue ? "a value" : "an operator"} is needed`;
      wantsValue = true;
    } else {
      if (!wantsValue) return `no operator stands between ${before?.getText()} and ${text}`;
      const inner = "initial" in token ? orderProblem((token as unknown as Value).initial.postfix) : undefined;
      if (inner !== undefined) return inner;
      wantsValue = false;
    }
    before = token;
  }
  return wantsValue ? `a value is missing after ${before?.getText()}` : undefined;
}
