// Names for a million people: made of syllables, so that their three-letter pieces repeat as they do in real names
// (distinct made-up words would make a trigram search look better than it is).

const syllables = (
  "an ber da el far gor hel in jo ka lan mar nor ol pet qui ros san tar ul ver wal yas zen al bro char den er fin gal " +
  "hart is jen kov lin mon ner os per ra sel tin um vin win xan yor zim ba ce di fo gu hi je ki lo mu ni po re si to"
).split(" ");

/** A last name that five people of every tenant have, whatever its size: what the selective search looks for. */
export const rareName = "Tarvermondi";

/** Two functions of the session's own schema: a first name out of some hundreds, a last name out of 200 000. */
export const nameFunctions = `
create or replace function pg_temp.syllable(seed integer, place integer) returns text language sql immutable as $$
  select (array[${syllables.map((each) => `'${each}'`).join(",")}])
    [1 + (hashint4(seed * 7 + place) & 2147483647) % ${syllables.length}]
$$;
create or replace function pg_temp.first_name(seed integer) returns text language sql immutable as $$
  select initcap(pg_temp.syllable(seed % 997, 1) || pg_temp.syllable(seed % 997, 2))
$$;
create or replace function pg_temp.last_name(seed integer) returns text language sql immutable as $$
  select initcap(pg_temp.syllable(seed, 3) || pg_temp.syllable(seed, 4) || pg_temp.syllable(seed, 5))
$$;
`;
