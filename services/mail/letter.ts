/** How a mail looks: the same paragraphs as plain text and as HTML. Every value is escaped here, none before. */

export interface Letter {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A line of prose, an address to open, or something to copy as it stands. */
export type Paragraph =
  | string
  | { readonly link: string; readonly label: string }
  | { readonly code: string };

/** `signature` ends the mail, as the name of whoever sends it. */
export function letter(subject: string, paragraphs: readonly Paragraph[], signature: string): Letter {
  const title = oneLine(subject);
  const all = [...paragraphs, oneLine(signature)];
  const body = all.map(asHtml).join("\n");
  const style =
    "font-family: sans-serif; line-height: 1.5; max-width: 40em; margin: 2em auto; padding: 0 1em";
  return {
    subject: title,
    text: `${all.map(asText).join("\n\n")}\n`,
    html: `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>
<body style="${style}">
${body}
</body>
</html>
`,
  };
}

/** A value as part of one line: without line breaks and other control characters, at most 200 characters. */
export function oneLine(value: string): string {
  return value
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, " ")
    .trim()
    .slice(0, 200);
}

export function escapeHtml(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function asText(paragraph: Paragraph): string {
  if (typeof paragraph === "string") return paragraph;
  return "link" in paragraph ? paragraph.link : paragraph.code;
}

function asHtml(paragraph: Paragraph): string {
  if (typeof paragraph === "string") return `<p>${escapeHtml(paragraph)}</p>`;
  if ("code" in paragraph)
    return `<pre style="white-space: pre-wrap; word-break: break-all">${escapeHtml(paragraph.code)}</pre>`;
  return `<p><a href="${escapeHtml(paragraph.link)}">${escapeHtml(paragraph.label)}</a></p>`;
}
