// The address of Telegram's Bot API.
export const defaultApiRoot = "https://api.telegram.org";
