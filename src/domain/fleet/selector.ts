/** Does a selector fit a set of labels? Every label and every expression must. */
import type { Selector } from "../gitops/kinds/fields.ts";

type Labels = Readonly<Record<string, string>>;
type Expression = NonNullable<Selector["matchExpressions"]>[number];

export function matches(selector: Selector, labels: Labels): boolean {
  return (
    Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labelOf(labels, key) === value) &&
    (selector.matchExpressions ?? []).every((expression) => TESTS[expression.operator](labels, expression))
  );
}

/** `constructor` and the like are labels only when somebody has set them. */
const labelOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;

const isIn = (labels: Labels, { key, values = [] }: Expression): boolean => {
  const value = labelOf(labels, key);
  return value !== undefined && values.includes(value);
};
const exists = (labels: Labels, { key }: Expression): boolean => labelOf(labels, key) !== undefined;

const TESTS: Record<Expression["operator"], (labels: Labels, expression: Expression) => boolean> = {
  In: isIn,
  NotIn: (labels, expression) => !isIn(labels, expression),
  Exists: exists,
  DoesNotExist: (labels, expression) => !exists(labels, expression),
};
