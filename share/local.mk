# what is installed beside the program

# reference machines, written from public facts
xmldir = $(pkgdatadir)/xml
dist_xml_DATA = \
	%D%/xml/dgx-h100.xml
