// Where Telegram's Bot API is.
export const defaultApiRoot = "https://api.telegram.org";
