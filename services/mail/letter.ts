/**
 * The form of a mail: the same paragraphs as plain text and as HTML. All values are escaped here and must not
 * be escaped before.
 */

/** A mail's subject and its two bodies. */
export interface Letter {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A line of text, a link, or text to copy unchanged. */
export type Paragraph =
  | string
  | { readonly link: string; readonly label: string }
  | { readonly code: string };

/** @param signature the sender's name, which ends the mail */
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

/** Replaces the five special characters of HTML by numeric references. */
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
