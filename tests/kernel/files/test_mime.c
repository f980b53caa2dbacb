#include "kernel/files/mime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD(text) text, sizeof(text) - 1

static const struct {
    const char *head;
    size_t n;
    const char *name;
    const char *mime;
} rows[] = {
    {HEAD("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "plot.png", "image/png"},
    {HEAD("\x89PNG\r\n\x1a\n"), "plot.txt", "image/png"},
    {HEAD("no picture"), "plot.png", "text/plain"},
    {HEAD("\xff\xd8\xff\xe0"), "a.jpg", "image/jpeg"},
    {HEAD("GIF89a\1\0\1\0"), "a.gif", "image/gif"},
    {HEAD("GIF89a is a format"), "a.gif", "text/plain"},
    {HEAD("ID3\4\0\0"), "a.mp3", "audio/mpeg"},
    {HEAD("ID3,C4.5\n1,2\n"), "a.csv", "text/csv"},
    {HEAD("BZhang,Wuhan\n"), "a.csv", "text/csv"},
    {HEAD("a sound WAVE"), "a.txt", "text/plain"},
    {HEAD("RIFF\0\0\0\0WEBPVP8 "), "a.webp", "image/webp"},
    {HEAD("%PDF-1.7\n"), "a.pdf", "application/pdf"},
    {HEAD("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), "a.pdf", "application/pdf"},
    {HEAD("PK\x03\x04\0\0\0\0[Content_Types].xml\0_rels/.rels\0xl/workbook.xml"), "a.xlsx",
     "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {HEAD("PK\x03\x04\0\0\0\0word/document.xml"), "a.docx",
     "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {HEAD("PK\x03\x04\0\0\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet"), "a.ods",
     "application/vnd.oasis.opendocument.spreadsheet"},
    {HEAD("PK\x03\x04\0\0\0\0a.txt"), "a.zip", "application/zip"},
    {HEAD("PK\x03\x04\0\0\0\0arr_0.npy"), "a.npz", "application/x-npz"},
    {HEAD("\x1f\x8b\x08"), "a.gz", "application/gzip"},
    {HEAD("PAR1\x15\x04"), "a.parquet", "application/vnd.apache.parquet"},
    {HEAD("SQLite format 3\0\x10"), "a.db", "application/vnd.sqlite3"},
    {HEAD("\x93NUMPY\x01\0"), "a.npy", "application/x-npy"},
    {HEAD("\x89HDF\r\n\x1a\n"), "a.h5", "application/x-hdf5"},
    {HEAD("<svg xmlns='http://www.w3.org/2000/svg'/>"), "a.svg", "image/svg+xml"},
    {HEAD("<?xml version=\"1.0\"?>\n<!-- drawn -->\n<!DOCTYPE svg>\n<svg/>"), "a.svg", "image/svg+xml"},
    {HEAD("<?xml version=\"1.0\"?><table/>"), "a.svg", "application/xml"},
    {HEAD("\xef\xbb\xbf\n<!DOCTYPE HTML><p>"), "a.html", "text/html"},
    {HEAD("<html lang=en>"), "a", "text/html"},
    {HEAD("<p>just a piece"), "a.html", "text/plain"},
    {HEAD(" {\"a\": [1, 2]}\n"), "a", "application/json"},
    {HEAD("17"), "a.json", "application/json"},
    {HEAD("17"), "a.txt", "text/plain"},
    {HEAD("{not json}"), "a.json", "text/plain"},
    {HEAD("a,b\n1,2\n"), "a.CSV", "text/csv"},
    {HEAD("a\tb\n"), "a.tsv", "text/tab-separated-values"},
    {HEAD("# a\n"), "a.md", "text/markdown"},
    {HEAD("x = 1\n"), "a.py", "text/x-python"},
    {HEAD("x = 1\n"), ".py", "text/plain"},
    {HEAD(""), "a.csv", "text/csv"},
    {HEAD(""), "a", "text/plain"},
    {HEAD("a\0b"), "a.txt", "application/octet-stream"},
    {HEAD("a\x01"), "a.csv", "application/octet-stream"},
    {HEAD("\xff\xfe\x61\0"), "a.txt", "application/octet-stream"},
    {HEAD("a\xc3"), "a.txt", "application/octet-stream"},
};

static void test_mime_of_whole_files_follows_content_and_name(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(mime_of(rows[i].head, rows[i].n, true, rows[i].name), rows[i].mime);
}

static void test_mime_of_a_head_cut_inside_a_character_is_still_text(void **state) {
    char head[MIME_HEAD_BYTES];
    (void)state;
    memset(head, 'a', sizeof head);
    memcpy(head + sizeof head - 2, "\xe2\x82", 2);
    assert_string_equal(mime_of(head, sizeof head, false, "a.csv"), "text/csv");
    assert_string_equal(mime_of(head, sizeof head, true, "a.csv"), "application/octet-stream");
    head[0] = '[';
    assert_string_equal(mime_of(head, sizeof head, false, "a.json"), "application/json");
    assert_string_equal(mime_of(head, sizeof head, false, "a.log"), "text/plain");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mime_of_whole_files_follows_content_and_name),
        cmocka_unit_test(test_mime_of_a_head_cut_inside_a_character_is_still_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
