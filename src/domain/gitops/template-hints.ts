/** What to write instead, for what Liquid says of a template. */

const HINTS: readonly (readonly [RegExp, (name: string) => string])[] = [
  [/^output .* not closed$/s, () => "end it with }}"],
  [/^tag \{%-?\s*(if|unless|for|case|capture|raw|comment)\b.* not closed$/s, (tag) => `end it with {% end${tag} %}`],
  [/^tag .* not closed$/s, () => "end it with %}"],
  [
    /^tag "(?:include|render|layout|block)" not found$/,
    () => "a scalar stands for itself: share text by a parameter or a fragment",
  ],
  [
    /^no operator stands between (?:if|else|range|with|define|include|template)\b/,
    () => "templates are Liquid: {% if … %} … {% endif %}, {% for … %} … {% endfor %}",
  ],
  [/^invalid range syntax$/, () => "parentheses are for ranges such as (1..3): write the condition without them"],
  [/^tag "else ?if" not found$/, () => "write {% elsif … %}"],
  [
    /^expected "\|" before filter$|^no operator stands|^a value is missing|stands where .* is needed$|^invalid value expression/,
    () => "operators are ==, !=, <, <=, >, >=, contains, and, or, not; a filter follows |",
  ],
  [/^tag "(.+)" not found$/, () => "tags are if, unless, for, case, assign, capture, raw and comment"],
  [
    /^undefined filter: (?:date.*|sample|shuffle)$/,
    () => "templates have neither clock nor chance, so that all replicas render the same bytes",
  ],
  [/^undefined filter: /, () => "filters are those of Liquid, for example default, upcase, replace, split, join"],
  [
    /^undefined variable: (.+)$/,
    (name) => `give a default: {{ ${name} | default: "…" }}, or ask for it with {% if ${name} %}`,
  ],
];

/** The hint for Liquid's `message`, or nothing. */
export function templateHint(message: string): { hint?: string } {
  for (const [pattern, hint] of HINTS) {
    const found = pattern.exec(message);
    if (found !== null) return { hint: hint(found[1] ?? "") };
  }
  return {};
}
